import {
  cidrList,
  declared,
  duration,
  hinted,
  hostList,
  integer,
  type SettingValues,
  textList,
} from '../../kit/settings/setting.ts';

const issuerList = textList('OpenID issuers, such as https://accounts.example.com', (value) => {
  return URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
});

const MAX_UINT32 = 4_294_967_295;

/** Settings for logins on the whole server. */
export const loginSettings = {
  oidc_http_issuers: declared(hostList, {
    group: 'Logins',
    default: [],
    description: 'Hosts whose OpenID issuer may use plain http. Loopback is always allowed.',
    risk: (hosts) =>
      hosts.length === 0
        ? null
        : {
            message: `logins at ${hosts.join(', ')} may use plain http, where they can be read and forged`,
            advice: 'use https and leave oidc_http_issuers empty',
          },
  }),
  agent_issuer_allow_cidrs: declared(cidrList, {
    group: 'Logins',
    default: [],
    description:
      'Loopback, private and other special-purpose address ranges that OpenID issuers requested by agents may use, also over plain http where oidc_http_issuers allows it. Empty: https on public addresses only.',
  }),
  oidc_unverified_email_issuers: declared(hinted('URL,…', issuerList), {
    group: 'Logins',
    default: [],
    description:
      'OpenID issuers, written as in their modules, whose email addresses are forwarded upstream even if the provider does not send "email_verified": true.',
  }),
  login_outage_hours: declared(duration('hours', 0, 8760), {
    group: 'Logins',
    default: 24,
    description:
      'Time a login stays valid after its last successful refresh while the provider is unavailable (no response, 429, 5xx). 0: the login ends at the first failure.',
  }),
  login_attempts_per_address: declared(integer(0, 1_000_000), {
    group: 'Logins',
    default: 60,
    description:
      'Failed logins at the token endpoint allowed per minute for each client address (IPv6: /64), per node. An IPv6 /56 gets twice the limit, a /48 and an IPv4 /24 four times. 0: no limit.',
  }),
  login_attempts_per_issuer: declared(integer(0, 1_000_000), {
    group: 'Logins',
    default: 600,
    description:
      'Failed logins at the token endpoint allowed per minute for each issuer, per node. A quarter is reserved for addresses with an earlier successful login; networks with failed logins share half. 0: no limit.',
  }),
  password_attempts_per_address: declared(integer(0, 1_000_000), {
    group: 'Logins',
    default: 30,
    description:
      'Wrong passwords of basic_auth allowed per minute for each client address (IPv6: /64), per node. An IPv6 /56 gets twice the limit, a /48 and an IPv4 /24 four times. 0: no limit.',
  }),
  password_attempts_per_user: declared(integer(0, 1_000_000), {
    group: 'Logins',
    default: 60,
    description:
      'Wrong passwords of basic_auth allowed per minute for each user name of a route, per node. A quarter is reserved for addresses that sent the right one before; networks with wrong passwords share half. 0: no limit.',
  }),
  login_maximum_duration: declared(duration('seconds', 0, MAX_UINT32), {
    group: 'Logins',
    default: 2_592_000,
    description:
      'Time after which people must log in again even if active, on routes whose login module has maximum_duration 0. 0: no limit.',
  }),
  login_inactivity_timeout: declared(duration('seconds', 0, MAX_UINT32), {
    group: 'Logins',
    default: 604_800,
    description:
      'Time of inactivity after which people must log in again, on routes whose login module has inactivity_timeout 0. 0: no limit.',
  }),
  login_retention_days: declared(duration('days', 1, 3650), {
    group: 'Logins',
    default: 90,
    description: 'Time after which an unused login is deleted, regardless of the settings of its module.',
  }),
};

export type LoginSettings = SettingValues<typeof loginSettings>;
