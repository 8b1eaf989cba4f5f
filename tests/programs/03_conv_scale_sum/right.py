import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_sources = r"""
__global__ void scale_kernel(float* x, const float* scale, int channels, int pixels, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    x[i] *= scale[(i / pixels) % channels];
}

__global__ void channel_sum_kernel(const float* x, float* y, int channels, int pixels) {
  int b = blockIdx.y, p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= pixels) return;
  float s = 0.0f;
  for (int c = 0; c < channels; ++c) s += x[(b * channels + c) * pixels + p];
  y[b * pixels + p] = s;
}

void scale_(torch::Tensor x, torch::Tensor scale) {
  int n = x.numel();
  scale_kernel<<<4, 128>>>(x.data_ptr<float>(), scale.data_ptr<float>(), x.size(1),
                           x.size(2) * x.size(3), n);
}

torch::Tensor channel_sum(torch::Tensor x) {
  auto y = torch::zeros({x.size(0), 1, x.size(2), x.size(3)}, x.options());
  int pixels = x.size(2) * x.size(3);
  dim3 grid((pixels + 63) / 64, x.size(0));
  channel_sum_kernel<<<grid, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1), pixels);
  return y;
}
"""

cpp_sources = """
void scale_(torch::Tensor x, torch::Tensor scale);
torch::Tensor channel_sum(torch::Tensor x);
"""

kernels = load_inline(
    name="scale_sum",
    cpp_sources=cpp_sources,
    cuda_sources=cuda_sources,
    functions=["scale_", "channel_sum"],
)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.scale = nn.Parameter(torch.ones(out_channels, 1, 1))
        self.bn = nn.BatchNorm2d(out_channels)

    def forward(self, x):
        x = self.bn(self.conv(x)).contiguous()
        kernels.scale_(x, self.scale)
        return kernels.channel_sum(x)
