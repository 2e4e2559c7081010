// A work-item moves 4 bodies. Bodies beyond the last are computed as the last
// one and not stored.
#pragma OPENCL FP_CONTRACT OFF

kernel void nbody_step(global const float *pos, global const float *vel, global float *pos_out, global float *vel_out,
                       const float dt, const float softening, const int n) {
    int first = get_global_id(0) * 4;
    float px[4], py[4], pz[4];
    for (int l = 0; l < 4; l++) {
        global const float *p = pos + (size_t)min(first + l, n - 1) * 4;
        px[l] = p[0];
        py[l] = p[1];
        pz[l] = p[2];
    }
    float4 x = vload4(0, px), y = vload4(0, py), z = vload4(0, pz);
    float4 ax = 0.0f, ay = 0.0f, az = 0.0f;
    float soft = softening * softening;
    for (int j = 0; j < n; j++) {
        float4 q = vload4(j, pos);
        float4 dx = q.x - x, dy = q.y - y, dz = q.z - z;
        float4 d2 = ((dx * dx + dy * dy) + dz * dz) + soft;
        float4 h = 0.5f * d2, r = as_float4(0x5f375a86u - (as_uint4(d2) >> 1u));
        r = r * (1.5f - (h * r) * r);
        r = r * (1.5f - (h * r) * r);
        r = r * (1.5f - (h * r) * r);
        r = d2 > 0.0f ? r : 0.0f;
        float4 f = ((q.w * r) * r) * r;
        ax += f * dx;
        ay += f * dy;
        az += f * dz;
    }
    float fx[4], fy[4], fz[4];
    vstore4(ax, 0, fx);
    vstore4(ay, 0, fy);
    vstore4(az, 0, fz);
    for (int l = 0; l < 4 && first + l < n; l++) {
        size_t i = (size_t)(first + l) * 4;
        float vx = vel[i] + fx[l] * dt, vy = vel[i + 1] + fy[l] * dt, vz = vel[i + 2] + fz[l] * dt;
        vel_out[i] = vx;
        vel_out[i + 1] = vy;
        vel_out[i + 2] = vz;
        vel_out[i + 3] = vel[i + 3];
        pos_out[i] = pos[i] + vx * dt;
        pos_out[i + 1] = pos[i + 1] + vy * dt;
        pos_out[i + 2] = pos[i + 2] + vz * dt;
        pos_out[i + 3] = pos[i + 3];
    }
}
