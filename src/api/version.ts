import type { IncomingHttpHeaders } from 'node:http';
import type { Operation } from '../resources/operation.ts';
import { apiErrors } from './errors.ts';

export interface RequestedVersion {
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
