import { moduleRisks } from '../config/module-settings.ts';
import { type Config, variableOf } from '../config/schema.ts';
import { formatListenAddress, isLoopbackHost } from '../lib/net/listen-address.ts';
import type { Check } from './check.ts';
import { type Finding, findingsOf } from './finding.ts';

export const settings: Check = { name: 'settings', nouns: ['settings'], run: checkSettings };

/** Settings that work but allow more than may be intended. */
export function checkSettings({ config }: { readonly config: Config }): readonly Finding[] {
  const found = findingsOf('settings');
  const isPublic = !isLoopbackHost(config.api_listen.host);
  if (isPublic) {
    found.warning(
      `the API listens on ${formatListenAddress(config.api_listen)}, where other machines can reach it`,
      'restrict access with a firewall, or set api_listen to 127.0.0.1',
    );
  }
  if (isPublic && config.api_metrics_open) {
    found.warning('anyone who can reach the API can read its metrics without a key', 'set api_metrics_open to false');
  }
  if (config.trusted_proxies.some((range) => range.endsWith('/0'))) {
    found.warning(
      'trusted_proxies includes every address: any client can claim any address, also one that IP rules let in',
      'list only the ranges of your proxies',
    );
  }
  if (config.upstream_allow_cidrs.length > 0) {
    found.warning(
      `upstreams may be at ${config.upstream_allow_cidrs.join(', ')}, where cloud providers serve instance credentials`,
      `leave upstream_allow_cidrs (${variableOf('upstream_allow_cidrs')}) empty unless an upstream needs it`,
    );
  }
  for (const { message, advice } of moduleRisks(config.moduleSettings)) found.warning(message, advice);
  if (found.list.length === 0) found.ok('the settings are valid, and none is risky');
  return found.list;
}
