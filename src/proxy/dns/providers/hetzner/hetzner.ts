import { type DnsProvider, secretOption, urlOption } from '../../dns-provider.ts';

export const hetzner: DnsProvider = {
  name: 'hetzner',
  title: 'Hetzner (Cloud API)',
  isHook: false,
  options: {
    token: secretOption(
      'API token of the project in the Hetzner Console that has the zone, with read and write permission. Tokens of the old DNS Console do not work.',
    ),
    url: urlOption('Base URL of the API. Unset: https://api.hetzner.cloud/v1.'),
  },
  load: async () => (await import('./hetzner-records.ts')).hetznerRecords,
};
