import { SECRET_FORMS } from '../../kit/secret-reference.ts';
import {
  choice,
  choiceList,
  duration,
  email,
  hinted,
  httpsUrlList,
  integer,
  macKey,
  optional,
  required,
  text,
  textList,
  visibleText,
} from '../../kit/settings/setting.ts';
import { dnsZones } from '../../proxy/dns/dns-zones.ts';

const ACME = ['off', 'on'] as const;
const CHALLENGES = ['tls-alpn-01', 'http-01', 'dns-01'] as const;
const path = hinted('PATH', text('a path'));
const httpsOriginList = textList(
  'https origins without a path, such as https://ari.example.com',
  (value) => URL.canParse(value) && value.startsWith('https://') && new URL(value).origin === value,
);

/** Settings of certificates from ACME servers. */
export const acmeSettings = {
  acme: required(choice(ACME), {
    description:
      'Order certificates from an ACME server such as Let\'s Encrypt for every public name that an edge, a reserved domain or a listener of this server has. "on" accepts the terms of service of the servers in acme_directory.',
  }),
  acme_email: optional(email, {
    description: 'Email address that the ACME server may use to report problems with certificates.',
  }),
  acme_directory: required(httpsUrlList, {
    description:
      'Directory URLs of ACME servers. The first one that issues a certificate is used; the next one is tried when a server fails.',
  }),
  acme_origins: required(hinted('ORIGIN,…', httpsOriginList), {
    description:
      "Origins that ACME servers may use beside that of their directory, such as https://ari.example.com. An order that leads elsewhere fails; renewal information elsewhere is not read. The URLs of Let's Encrypt, Google, and ZeroSSL without its renewal information (https://ari.trust-provider.com) need none.",
  }),
  acme_ca_file: optional(path, {
    description:
      'PEM file with the CA certificates of private ACME servers. They are trusted for connections to ACME servers, in addition to the public CAs.',
  }),
  acme_eab_key_id: optional(hinted('ID', visibleText), {
    description: 'Key id for external account binding, from the operator of the ACME server. Requires acme_eab_key.',
  }),
  acme_eab_key: optional(macKey, {
    description: 'Key for external account binding, from the operator of the ACME server. Requires acme_eab_key_id.',
    secrecy: 'secret',
  }),
  acme_challenges: required(choiceList(CHALLENGES), {
    description:
      'Challenges that prove control over a name, in the order in which they are tried. tls-alpn-01 must reach edge_listen on port 443, http-01 must reach edge_http_listen on port 80, dns-01 requires acme_dns. Wildcards always use dns-01.',
  }),
  acme_dns: required(dnsZones, {
    description: `DNS providers for dns-01: a map from zones to a provider and its options (see docs/reference/dns-providers.md). The longest zone that a record is in decides, after CNAME records of _acme-challenge were followed. Secrets are ${SECRET_FORMS}. The zone "*" with the provider hook stands for all others. Empty: wildcards get no certificate from an ACME server.`,
  }),
  acme_dns_timeout: required(duration('seconds', 0, 3600, { hasFractions: true }), {
    description:
      'Time within which all name servers of a zone must show a new record, before the ACME server may look. 0: they are not asked, for networks in which they cannot be reached.',
  }),
  acme_dns_hook_timeout: required(duration('seconds', 1, 3600, { hasFractions: true }), {
    description: 'Time after which a hook for DNS records and all processes that it started are killed.',
  }),
  acme_profile: optional(hinted('NAME', visibleText), {
    description:
      'Certificate profile to request, such as "shortlived". Ignored by ACME servers that do not offer it. Unset: the default of the server.',
  }),
  acme_concurrent_orders: required(integer(1, 100), {
    description: 'Maximum number of names that all nodes together order certificates for at the same time.',
  }),
  acme_account_key_days: required(duration('days', 0, 3650), {
    description: 'Time after which the key of an ACME account is replaced. 0: never.',
  }),
};
