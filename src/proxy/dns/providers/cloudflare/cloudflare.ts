import { type DnsProvider, secretOption, textOption, urlOption } from '../../dns-provider.ts';

export const cloudflare: DnsProvider = {
  name: 'cloudflare',
  title: 'Cloudflare',
  isHook: false,
  options: {
    token: secretOption('API token with the permissions Zone / Zone / Read and Zone / DNS / Edit for the zone.'),
    zone_id: textOption('Id of the zone. Unset: the zone is found by its name, which needs Zone / Zone / Read.', {
      accepts: (value) => /^[0-9a-f]{32}$/.test(value),
    }),
    url: urlOption('Base URL of the API. Unset: https://api.cloudflare.com/client/v4.'),
  },
  load: async () => (await import('./cloudflare-records.ts')).cloudflareRecords,
};
