import { errorTable } from '../lib/errors.ts';

export const tracingErrors = errorTable({
  ERR_POSTERN_TRACING: {
    status: 503,
    explanation:
      'The OpenTelemetry packages cannot be loaded, but otel_endpoint is set. The server did not start. Install them with `npm ci`, or unset otel_endpoint.',
  },
});
