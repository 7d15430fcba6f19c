import type { IncomingHttpHeaders } from 'node:http';
import type { Operation, Principal } from '../resources/operation.ts';
import { apiErrors } from './errors.ts';
import type { LargeBody } from './request-bodies.ts';

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

interface RequestedVersion {
  readonly version: 0 | 2;
  /** Named by the retired service's header: existing clients only need another base URL. */
  readonly isLegacyClient: boolean;
}

export function requestedVersion(headers: IncomingHttpHeaders, operation: Operation): RequestedVersion {
  const own = headers['service-version'];
  const legacy = headers['ngrok-version'];
  if (own !== undefined && legacy !== undefined && own !== legacy) {
    throw versionError('Service-Version and Ngrok-Version differ');
  }
  const named = own ?? legacy;
  const isLegacyClient = own === undefined;
  if (named === '2') return { version: 2, isLegacyClient };
  if (named === '0' && operation.acceptsVersion0 === true) return { version: 0, isLegacyClient };
  if (named === undefined || named === '') throw versionError('the request has no version');
  if (named === '0') throw versionError('version 0 is supported only for GET /tunnels and GET /tunnels/{id}');
  throw versionError(`version "${String(named).slice(0, 20)}" is not supported`);
}

function versionError(problem: string): Error {
  return apiErrors.create('ERR_POSTERN_VERSION', `${problem}: send "Service-Version: 2"`);
}
