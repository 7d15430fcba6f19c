import { type Finding, findingTable } from '../../../kit/findings.ts';
import { formatListenAddress, isLoopbackHost } from '../../../kit/net/listen-address.ts';
import { type SettingRisk, variableOf } from '../../../kit/settings/setting.ts';
import { moduleRisks } from '../../../modules/declared-settings.ts';
import type { CheckedSettings, Facts } from '../facts.ts';
import type { Check, Subject } from '../subject.ts';

const { kinds, found, ok } = findingTable('settings', {
  api_public: {
    level: 'warning',
    text: ({ api_listen: listen }: Pick<CheckedSettings, 'api_listen'>) =>
      `the API listens on ${formatListenAddress(listen)}, where other machines can reach it`,
    advice: 'restrict access with a firewall, or set api_listen to 127.0.0.1',
  },
  metrics_public: {
    level: 'warning',
    text: 'anyone who can reach the API can read its metrics without a key',
    advice: 'set api_metrics_open to false',
  },
  every_proxy_trusted: {
    level: 'warning',
    text: 'trusted_proxies includes every address: any client can claim any address, also one that IP rules let in',
    advice: 'list only the ranges of your proxies',
  },
  metadata_reachable: {
    level: 'warning',
    text: ({ upstream_allow_cidrs: ranges }: Pick<CheckedSettings, 'upstream_allow_cidrs'>) =>
      `upstreams may be at ${ranges.join(', ')}, where cloud providers serve instance credentials`,
    advice: `leave upstream_allow_cidrs (${variableOf('upstream_allow_cidrs')}) empty unless an upstream needs it`,
  },
  // Modules declare what is risky beside their settings.
  module_setting_risky: {
    level: 'warning',
    text: ({ message }: SettingRisk) => message,
    advice: ({ advice }: SettingRisk) => advice,
  },
});

/**
 * Settings that work but allow more than may be intended. The doctor checks those of its shell if no server answers.
 */
export const settingsCheck = {
  name: 'settings',
  nouns: ['settings'],
  kinds,
  run({ config }: Pick<Facts, 'config'>): readonly Finding[] {
    const isPublic = !isLoopbackHost(config.api_listen.host);
    const risks = [
      ...(isPublic ? [found('api_public', config)] : []),
      ...(isPublic && config.api_metrics_open ? [found('metrics_public', null)] : []),
      ...(config.trusted_proxies.some((range) => range.endsWith('/0')) ? [found('every_proxy_trusted', null)] : []),
      ...(config.upstream_allow_cidrs.length > 0 ? [found('metadata_reachable', config)] : []),
      ...moduleRisks(config.moduleSettings).map((risk) => found('module_setting_risky', risk)),
    ];
    return risks.length > 0 ? risks : [ok('the settings are valid, and none is risky')];
  },
} satisfies Check;

export const settings: Subject = { checks: [settingsCheck] };
