import { type DnsProvider, secretOption, textOption, urlOption } from '../../dns-provider.ts';

export const acmedns: DnsProvider = {
  name: 'acmedns',
  title: 'acme-dns',
  isHook: false,
  options: {
    url: urlOption('Base URL of the acme-dns server.', true),
    username: secretOption('username of the registration (POST /register).'),
    password: secretOption('password of the registration.'),
    subdomain: textOption('subdomain of the registration. Unset: the first label of the zone.', {
      accepts: (value) => /^[a-z0-9-]{1,63}$/i.test(value),
    }),
  },
  load: async () => (await import('./acmedns-records.ts')).acmednsRecords,
};
