#include "host/extension_server.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "host/cache.h"
#include "host/probe.h"
#include "host/record.h"
#include "host/repeat.h"
#include "program/sha256.h"

namespace assay::host {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using SteadyClock = std::chrono::steady_clock;
using Strings = std::vector<std::string>;

std::string text_of(const Json& j) {
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string error_text(const Diag& d) {
  std::string message = d.message;
  if (!d.loc.file.empty() && d.loc.line != 0 && message.find(d.loc.file) == std::string::npos)
    message = fmt::format("{}:{}: {}", d.loc.file, d.loc.line, message);
  return text_of({{"error", {{"kind", diag_kind_name(d.kind)}, {"message", message}}}});
}

// Sources given as text, in a folder named by their content, so that a later check finds what was
// compiled.
Result<Strings> written_sources(const Json& texts) {
  std::string key = "1";
  for (const Json& t : texts)
    key +=
        fmt::format("\n{}\n{}", t.at("name").get<std::string>(), t.at("text").get<std::string>());
  ASSAY_TRY(const fs::path folder,
            cached_folder("inline", program::sha256_hex(key), [&](const fs::path& f) -> Status {
              for (const Json& t : texts) {
                const fs::path name = fs::path(t.at("name").get<std::string>()).filename();
                ASSAY_CHECK(write_file(f / name, t.at("text").get<std::string>()));
              }
              return {};
            }));
  Strings out;
  for (const Json& t : texts)
    out.push_back((folder / fs::path(t.at("name").get<std::string>()).filename()).string());
  return out;
}

bool lies_in(const fs::path& path, const fs::path& folder) {
  std::error_code ec;
  const fs::path real = fs::weakly_canonical(path, ec), root = fs::weakly_canonical(folder, ec);
  const auto [at, end] = std::mismatch(root.begin(), root.end(), real.begin(), real.end());
  return at == root.end() && end != real.end();
}

}  // namespace

Result<std::string> ExtensionServer::compile(const std::string& line) {
  const Json j = Json::parse(line);
  CompileRequest rq;
  ASSAY_TRY(rq.sources, written_sources(j.at("texts")));
  for (const std::string& file : j.at("files").get<Strings>()) {
    // Foreign code names the files that Assay itself reads.
    if (!lies_in(file, fs::path(request_.path).parent_path()) && !lies_in(file, work_dir_))
      return fail(DiagKind::Unsupported,
                  fmt::format("the source {} lies neither beside the program nor in its temporary "
                              "folder",
                              file));
    rq.sources.push_back(file);
  }
  rq.extra_flags = j.at("flags").get<Strings>();
  rq.extra_flags.insert(rq.extra_flags.end(), request_.extra_flags.begin(),
                        request_.extra_flags.end());
  ASSAY_TRY(Compiled compiled, compile_extension(rq));
  extensions_.push_back({j.at("name").get<std::string>(), std::move(compiled)});
  return text_of({{"id", extensions_.size() - 1}});
}

Result<int> ExtensionServer::module_number(size_t extension, program::Module module) {
  for (size_t k = 0; k < modules_.size(); ++k)
    if (modules_[k].first == extension && modules_[k].second.real_ptx == module.real_ptx)
      return static_cast<int>(k);
  module.symbols.clear();
  modules_.emplace_back(extension, std::move(module));
  return static_cast<int>(modules_.size()) - 1;
}

Result<std::string> ExtensionServer::call(const std::string& line) {
  const Json j = Json::parse(line);
  const auto id = j.at("id").get<size_t>();
  if (id >= extensions_.size()) return fail(DiagKind::Invalid, "no such extension");
  SandboxRequest run;
  ASSAY_TRY(run.program, program::from_json(j.at("program").dump()));
  run.extension = extensions_[id].compiled.extension;
  run.entry = j.at("function").get<std::string>();
  SandboxRequest placed = run;
  placed.amid = !run.program.buffers.empty();
  placed.side = placed.amid && j.at("side").get<bool>();
  ASSAY_TRY(SandboxResult result, run_probed(placed));
  program::Program& p = result.program;
  ASSAY_CHECK(attach_semantic(extensions_[id].compiled, &p));
  if (!result.exception.empty()) {
    p.notes.push_back({"host-exception", "info", "host code threw: " + result.exception, -1, {}});
  }
  if (j.at("repeat").get<bool>()) {
    Repetition again = repeat_calls(run);
    for (program::Note& n : again.notes) p.notes.push_back(std::move(n));
    for (const LaterCall& later : again.calls) {
      if (later.differs.empty() && !later.from_inputs) continue;
      p.notes.push_back({"static-state",
                         "low",
                         fmt::format("{} of the extension's function {} does other than the first "
                                     "one ({})",
                                     later.what, run.entry,
                                     later.differs.empty() ? "it uses what an earlier one computed"
                                                           : later.differs),
                         -1,
                         {}});
    }
  }
  for (program::Module& m : p.modules) {
    ASSAY_TRY(const int number, module_number(id, m));
    m.name = std::to_string(number);
    m.real_ptx = m.semantic_ptx = "";
  }
  ASSAY_TRY(const std::string text, program::to_json(p));
  return text_of({{"program", Json::parse(text)},
                  {"returned", Json::parse(result.returned, nullptr, false)},
                  {"reads", result.reads.size()},
                  {"done", result.done},
                  {"threw", result.exception}});
}

std::string ExtensionServer::shapes() {
  Json out = Json::array();
  if (request_.altered)
    for (const ShapeChange& change : request_.altered()) {
      Json pairs = Json::array();
      for (const auto& [name, value] : change)
        std::visit([&, &n = name](auto v) { pairs.push_back(Json::array({n, v})); }, value);
      out.push_back(std::move(pairs));
    }
  return text_of({{"changed", out}});
}

std::string ExtensionServer::answer(const std::string& line) {
  const auto start = SteadyClock::now();
  Result<std::string> out = fail(DiagKind::Internal, "no answer");
  try {
    const auto what = Json::parse(line).at("ask").get<std::string>();
    if (seconds_ > request_.wall_seconds)
      out =
          fail(DiagKind::Limit, fmt::format("building and running extensions took longer than {} s",
                                            request_.wall_seconds));
    else if (what == "compile")
      out = compile(line);
    else if (what == "call")
      out = call(line);
    else if (what == "shapes")
      return shapes();  // waits for the reference, which is no fault of the program's
    else
      out = fail(DiagKind::Invalid, "no such question");
  } catch (const Json::exception& e) {
    out = fail(DiagKind::Invalid, std::string("the question is spoiled: ") + e.what());
  }
  seconds_ += std::chrono::duration<double>(SteadyClock::now() - start).count();
  return out ? *out : error_text(out.error());
}

Status ExtensionServer::attach_modules(program::Program* p) const {
  for (program::Module& m : p->modules) {
    size_t number = modules_.size();
    for (size_t k = 0; k < modules_.size(); ++k)
      if (std::to_string(k) == m.name) number = k;
    if (number == modules_.size()) return fail(DiagKind::Invalid, "the recording is spoiled");
    auto symbols = std::move(m.symbols);
    m = modules_[number].second;
    m.symbols = std::move(symbols);
  }
  return {};
}

}  // namespace assay::host
