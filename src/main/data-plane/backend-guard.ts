import type { Config } from '../../config/schema.ts';
import type { OwnAddresses } from '../../upstream/own-addresses.ts';
import { upstreamGuard } from '../../upstream/upstream-guard.ts';

/** For backends alone: a login or a webhook has no reason to call the API. */
export function backendGuard(
  config: Pick<Config, 'api_behind_edge' | 'upstream_allow_cidrs'>,
  own: OwnAddresses,
): (ip: string, port: number) => boolean {
  const has = config.api_behind_edge
    ? (ip: string, port: number) => own.hasBesidesApi(ip, port)
    : (ip: string, port: number) => own.has(ip, port);
  return upstreamGuard(config.upstream_allow_cidrs, { has });
}
