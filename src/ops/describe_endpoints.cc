#include "ops/operations.h"

namespace holdfast::ops {

Result<DescribeEndpointsResponse> Perform(Context& context, const DescribeEndpointsRequest&) {
  DescribeEndpointsResponse response;
  Endpoint endpoint;
  endpoint.address = context.endpoint.empty()
                         ? "dynamodb." + context.engine->options().region + ".amazonaws.com"
                         : std::string(context.endpoint);
  response.endpoints.push_back(std::move(endpoint));
  return response;
}

}  // namespace holdfast::ops
