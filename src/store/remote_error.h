// What an endpoint said instead of answering, as the Error that the database in this process would give.
#pragma once

#include <string>

#include "holdfast/result.h"

namespace holdfast::store {

// `status` is not 200. A body that is no error of DynamoDB's gives one that names the endpoint and the
// status: kInternal and kThrottling where another try may help, else kNotSupported.
Error ReadError(const std::string& endpoint, int status, const std::string& body);

}  // namespace holdfast::store
