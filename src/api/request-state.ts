import type { Principal } from '../resources/operation.ts';
import type { RequestedVersion } from './version.ts';

/** What the gate found out about a request that it let in. */
export interface Admission {
  readonly principal: Principal;
  readonly token: string;
  readonly version: RequestedVersion;
}

/** What a request carries through Fastify's hooks. */
export interface RequestState {
  readonly operationId: string;
  readonly startedAt: number;
  apiKeyId: string | null;
  admission: Admission | null;
}

declare module 'fastify' {
  interface FastifyRequest {
    postern: RequestState;
  }
}
