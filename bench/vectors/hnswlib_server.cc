// hnswlib behind holdfast's own HTTP server and JSON, so that both are measured through the same door: it
// takes the body of a SearchVectors request and answers like it. See bench/vectors/compare.
//
//   holdfast_bench_hnswlib --port 8000 [--count N] [--dimensions D] [--clusters C] [--spread S]
//
// It makes and indexes the vectors of data.h itself and listens when they are in. GET /ef/64 sets ef.
// Cheaper than holdfast by design: no signature, no checks, no request id, no checksum, no item read.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "data.h"
#include "hnswlib_peer.h"
#include "json/struct_reader.h"
#include "json/struct_writer.h"
#include "wire/http_server.h"
#include "wire/worker_pool.h"

namespace holdfast::bench {
namespace {

constexpr int kWorkers = 4;  // holdfast's default

class Handler : public wire::HttpHandler {
 public:
  Handler(const Shape& shape, HnswlibPeer* peer) : shape_(shape), peer_(peer) {}

  Handled Handle(wire::Exchange* exchange) override {
    const wire::HttpRequest& request = exchange->request();
    constexpr std::string_view kEf = "/ef/";
    if (request.method == "GET") {
      std::string path(request.path);
      if (path.starts_with(kEf)) peer_->SetEf(std::strtoul(path.c_str() + kEf.size(), nullptr, 10));
      return Handled::kDone;
    }
    thread_local simdjson::dom::parser parser;
    json::Element element;
    Violations violations;
    if (parser.parse(request.body.data(), request.body.size(), /*realloc_if_needed=*/false).get(element) !=
        simdjson::SUCCESS) {
      return Refuse(exchange);
    }
    auto search = json::ReadStruct<SearchVectorsRequest>(element, &violations);
    if (!search || search->search_vector.size() != shape_.dimensions) return Refuse(exchange);
    auto shared = std::make_shared<SearchVectorsRequest>(*std::move(search));
    bool submitted = pool_.Submit([this, exchange, shared] {
      Answer(*shared, &exchange->response().body);
      exchange->Finish();
    });
    return submitted ? Handled::kPending : Refuse(exchange);
  }
  void Durable(wire::Exchange*, const Status&) override {}
  void Connected(int) override {}
  void Answered(wire::Exchange*, size_t, size_t) override {}

 private:
  static Handled Refuse(wire::Exchange* exchange) {
    exchange->response().status = 400;
    return Handled::kDone;
  }

  void Answer(const SearchVectorsRequest& request, std::string* body) const {
    SearchVectorsResponse response;
    for (const HnswlibPeer::Found& found :
         peer_->Search(request.search_vector.values().data(), static_cast<size_t>(request.top_k))) {
      value::FlatWriter writer;
      writer.BeginMap();
      writer.Name("id");
      std::string key = KeyOf(found.label);
      writer.String(key);
      writer.EndMap();
      SearchResult& result = response.search_results.emplace_back();
      static_cast<Item&>(result.item) = Item::FromFlat(writer.TakeMap());
      result.score = found.distance;
    }
    json::WriteStruct(response, body);
  }

  const Shape shape_;
  HnswlibPeer* const peer_;
  wire::WorkerPool pool_{kWorkers, /*queue_max=*/10'000};
};

int Main(const Shape& shape, int port) {
  HnswlibPeer peer(shape.dimensions, shape.count, /*m=*/16, /*ef_construction=*/200);
  {
    std::vector<float> vectors;
    vectors.reserve(shape.count * shape.dimensions);
    ClusteredVectors source = shape.Vectors();
    for (size_t i = 0; i < shape.count; ++i) source.Append(&vectors);
    peer.Build(vectors, static_cast<int>(std::thread::hardware_concurrency()));
  }
  Handler handler(shape, &peer);
  base::Log log(base::LogLevel::kError);
  wire::HttpServerOptions options;
  options.port = port;
  auto server = wire::HttpServer::Start(options, &handler, &log);
  if (!server) {
    std::fprintf(stderr, "%s\n", server.error().ToString().c_str());
    return 1;
  }
  while (true) ::pause();  // until it is killed
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
  holdfast::bench::Shape shape;
  int port = 8000;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string flag = argv[i];
    if (flag == "--port")
      port = std::atoi(argv[i + 1]);
    else
      shape.Take(flag, std::strtod(argv[i + 1], nullptr));
  }
  return holdfast::bench::Main(shape, port);
}
