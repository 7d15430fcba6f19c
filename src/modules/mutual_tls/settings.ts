import { declared, type SettingValues } from '../../lib/settings/setting.ts';
import { integer } from '../../lib/settings/setting-kinds.ts';

/** Settings for revocation lists on the whole server. */
export const mutualTlsSettings = {
  crl_refresh_seconds: declared(integer(10, 86_400), {
    default: 3600,
    description:
      'Seconds between two requests for the revocation list of a certificate authority with crl_url. A list that ends earlier is requested earlier, and after a failure the request is repeated sooner.',
  }),
};

export type MutualTlsSettings = SettingValues<typeof mutualTlsSettings>;
