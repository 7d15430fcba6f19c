import { errorTable } from '../lib/errors.ts';

export const tracingErrors = errorTable({
  ERR_POSTERN_TRACING: {
    status: 503,
    explanation:
      'otel_endpoint is set, but the OpenTelemetry packages cannot be loaded. The server did not start. Install them with `npm ci`, or unset otel_endpoint.',
  },
});
