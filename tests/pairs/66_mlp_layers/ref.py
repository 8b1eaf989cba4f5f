import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Three linear layers with ReLU between them and softmax behind.
    """
    def __init__(self, in_features: int, hidden1: int, hidden2: int, out_features: int):
        super(Model, self).__init__()
        self.fc1 = nn.Linear(in_features, hidden1)
        self.fc2 = nn.Linear(hidden1, hidden2)
        self.fc3 = nn.Linear(hidden2, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return torch.softmax(self.fc3(x), dim=1)


batch_size = 128
in_features = 512
hidden1 = 1024
hidden2 = 512
out_features = 16


def get_inputs():
    return [torch.randn(batch_size, in_features)]


def get_init_inputs():
    return [in_features, hidden1, hidden2, out_features]
