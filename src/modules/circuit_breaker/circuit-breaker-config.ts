import { hash } from 'node:crypto';
import Type, { type Static } from 'typebox';
import { ownerOf } from '../../kit/net/shared-places.ts';
import type { TrafficRequest } from '../contract/decides.ts';
import { enabledField } from '../contract/module.ts';

/** The type of these fields in existing clients is uint32. */
const MAX_UINT32 = 4_294_967_295;
export const MAX_BUCKETS = 128;

const seconds = (description: string) =>
  Type.Integer({ default: 10, minimum: 1, maximum: MAX_UINT32, description: `${description} Default: 10.` });

export const circuitBreakerConfig = Type.Object({
  enabled: enabledField,
  error_threshold_percentage: Type.Number({
    minimum: 0,
    maximum: 1,
    description:
      'Share of failed requests from which the circuit opens, from 0.0 to 1.0: 0.5 is one half. With 0, a single failure is enough.',
  }),
  tripped_duration: seconds(
    'Seconds for which an open circuit refuses all requests, before a request may probe the backend.',
  ),
  rolling_window: seconds('Seconds over which requests are counted.'),
  num_buckets: Type.Integer({
    default: 10,
    minimum: 1,
    maximum: MAX_BUCKETS,
    description: 'Number of parts of the window: the oldest part is forgotten at a time. Default: 10.',
  }),
  volume_threshold: Type.Integer({
    default: 20,
    minimum: 0,
    maximum: MAX_UINT32,
    description: 'Requests in the window below which the circuit stays closed. Default: 20.',
  }),
});

export type CircuitBreakerConfig = Static<typeof circuitBreakerConfig>;

/** The configuration as the circuit uses it. */
export interface CircuitLimits {
  readonly threshold: number;
  readonly trippedMs: number;
  readonly windowMs: number;
  readonly buckets: number;
  readonly volume: number;
  /** Differs where the others do: a changed configuration starts with a closed circuit. */
  readonly digest: number;
}

export function limitsOf(config: CircuitBreakerConfig): CircuitLimits {
  const limits = {
    threshold: config.error_threshold_percentage,
    trippedMs: config.tripped_duration * 1000,
    windowMs: config.rolling_window * 1000,
    buckets: config.num_buckets,
    volume: Math.max(1, config.volume_threshold),
  };
  return { ...limits, digest: digestOf(JSON.stringify(limits)) };
}

/** One number for everybody who can send as one client. */
export function clientOf({ clientAddress }: Pick<TrafficRequest, 'clientAddress'>): number {
  return digestOf(ownerOf(clientAddress));
}

/** 48 bits, never 0: a number that memory of floats can hold. */
export function digestOf(text: string): number {
  return Number.parseInt(hash('sha256', text).slice(0, 12), 16) || 1;
}
