import type { Principal } from '../resources/operation.ts';
import type { LargeBody } from './large-bodies.ts';
import type { RequestedVersion } from './version.ts';

/** Results of the gate for an admitted request. */
export interface Admission {
  readonly principal: Principal;
  readonly token: string;
  readonly version: RequestedVersion;
}

/** State of a request across Fastify's hooks. */
export interface RequestState {
  readonly operationId: string;
  readonly startedAt: number;
  apiKeyId: string | null;
  admission: Admission | null;
  /** Null: the body is small. */
  largeBody: LargeBody | null;
}

declare module 'fastify' {
  interface FastifyRequest {
    postern: RequestState;
  }
}
