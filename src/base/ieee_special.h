#pragma once
// Special functions that the C library lacks, in double (for results of at most 24 bits) and in
// long double (for f64 results).
namespace assay::ieee {

double sinpi_of(double x);
double cospi_of(double x);
long double sinpi_of(long double x);
long double cospi_of(long double x);

long double erfcx_of(long double x);                // exp(x^2) erfc(x)
long double erfinv_of(long double y);               // on (-1, 1); +-1: infinite; outside: NaN
long double erfcinv_of(long double z);              // on (0, 2)
long double normcdf_of(long double x);              // standard normal distribution
long double normcdfinv_of(long double p);           // on (0, 1)
long double bessel_i_of(int order, long double x);  // modified Bessel function, order 0 or 1
long double lgamma_of(long double x);               // log |Gamma(x)|, thread-safe

}  // namespace assay::ieee
