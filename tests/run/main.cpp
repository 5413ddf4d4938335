// The one file that makes Boost.Test's main; the others include <boost/test/unit_test.hpp> only.
#define BOOST_TEST_MODULE cairn
#include <boost/test/unit_test.hpp>
