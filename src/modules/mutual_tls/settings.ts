import { cidrList, declared, duration, type SettingValues } from '../../kit/settings/setting.ts';

/** Settings for revocation lists on the whole server. */
export const mutualTlsSettings = {
  crl_refresh_seconds: declared(duration('seconds', 10, 86_400), {
    group: 'Client certificates and lists of addresses',
    default: 3600,
    description:
      'Time between two requests for the revocation list of a certificate authority with crl_url. A list that ends earlier is requested earlier, and after a failure the request is repeated sooner.',
  }),
  crl_allow_cidrs: declared(cidrList, {
    group: 'Client certificates and lists of addresses',
    default: [],
    description:
      'Loopback, private and other special-purpose address ranges from which revocation lists (crl_url) may be fetched, such as 10.1.2.0/24 for a CA of your own. They are blocked by default.',
  }),
};

export type MutualTlsSettings = SettingValues<typeof mutualTlsSettings>;
