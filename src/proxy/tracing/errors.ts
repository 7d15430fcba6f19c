import { errorTable } from '../../kit/errors.ts';

export const tracingErrors = errorTable({
  ERR_POSTERN_TRACING: {
    status: 503,
    explanation:
      'The OpenTelemetry packages cannot be loaded, but traces are on (otel_endpoint, or OTEL_EXPORTER_OTLP_ENDPOINT). The server did not start. Install them with `npm ci`, or unset it.',
  },
});
