// This file alone defines Boost.Test's main. All other files include <boost/test/unit_test.hpp> only.
#define BOOST_TEST_MODULE cairn
#include <boost/test/unit_test.hpp>
