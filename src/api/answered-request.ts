import type { Operation } from '../resources/operation.ts';
import type { ApiMetrics } from './api-metrics.ts';

export interface AnsweredRequest {
  /** Undefined for public pages, and where no operation matched. */
  readonly operation: Operation | undefined;
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly apiKeyId: string | null;
  readonly startedAt: number;
}

export interface AnswerRecords {
  readonly metrics: ApiMetrics;
  /** Receives one line per request. */
  readonly requestLogger: { info(fields: object, message: string): void };
}

/** Counts and logs a request when its response is written. */
export function recordAnswer(answered: AnsweredRequest, { metrics, requestLogger }: AnswerRecords): void {
  const { operation, operationId, method, path, status, apiKeyId, startedAt } = answered;
  const name = operation === undefined ? 'none' : `${operation.resource}.${operation.verb}`;
  const seconds = (performance.now() - startedAt) / 1000;
  metrics.observe(name, status, seconds);
  if (operation === undefined && status < 400) return;
  const ms = Math.round(seconds * 1e5) / 100;
  requestLogger.info(
    { operation_id: operationId, operation: name, method, path, status, key_id: apiKeyId, ms },
    'request',
  );
}
