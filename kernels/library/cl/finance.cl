// Elementary functions from additions, multiplications and bit patterns only,
// so that every device computes the same; package library has the same
// functions in Go and says where they come from.
#pragma OPENCL FP_CONTRACT OFF

float reciprocal(float x) {
    float y = as_float(0x7ef311c7u - as_uint(x));
    y = y * (2.0f - x * y);
    y = y * (2.0f - x * y);
    y = y * (2.0f - x * y);
    return y;
}

float root(float x) {
    float h = 0.5f * x, y = as_float(0x5f375a86u - (as_uint(x) >> 1));
    y = y * (1.5f - (h * y) * y);
    y = y * (1.5f - (h * y) * y);
    y = y * (1.5f - (h * y) * y);
    return x * y;
}

float exponential(float x) {
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    float n = (x * 1.44269504f + 12582912.0f) - 12582912.0f;
    float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * (r * r) + r) + 1.0f;
    return p * as_float(as_uint(n + 12583039.0f) << 23);
}

float logarithm(float x) {
    uint bits = as_uint(x) - 0x3f3504f3u;
    int e = as_int(bits) >> 23;
    float m = as_float((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f, z = m * m, n = (float)e;
    float p = 7.0376836292e-2f;
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    p = (p * m) * z;
    p = p + n * -2.12194440e-4f;
    p = p - 0.5f * z;
    return (m + p) + n * 0.693359375f;
}

// The normal distribution function of -|d|.
float tail(float d) {
    float a = fabs(d);
    float k = reciprocal(1.0f + 0.2316419f * a);
    float p = 1.330274429f;
    p = p * k - 1.821255978f;
    p = p * k + 1.781477937f;
    p = p * k - 0.356563782f;
    p = p * k + 0.319381530f;
    return (p * k) * (0.398942280f * exponential((-0.5f * a) * a));
}

kernel void finance_blackscholes(global const float *spot, global const float *strike, global const float *years,
                                 global float *call, global float *put, const float rate, const float volatility) {
    size_t i = get_global_id(0);
    float s = spot[i], x = strike[i], t = years[i];
    float spread = volatility * root(t);
    spread = spread < 1e-6f ? 1e-6f : spread;
    float drift = (rate + (0.5f * volatility) * volatility) * t;
    float d1 = (logarithm(s * reciprocal(x)) + drift) * reciprocal(spread);
    float d2 = d1 - spread;
    float tail1 = tail(d1), tail2 = tail(d2);
    float below1 = d1 > 0.0f ? 1.0f - tail1 : tail1, above1 = d1 > 0.0f ? tail1 : 1.0f - tail1;
    float below2 = d2 > 0.0f ? 1.0f - tail2 : tail2, above2 = d2 > 0.0f ? tail2 : 1.0f - tail2;
    float paid = x * exponential(-(rate * t));
    float c = s * below1 - paid * below2, p = paid * above2 - s * above1;
    int ok = (s > 0.0f) & (x > 0.0f) & (t >= 0.0f);
    call[i] = ok ? c : NAN;
    put[i] = ok ? p : NAN;
}
