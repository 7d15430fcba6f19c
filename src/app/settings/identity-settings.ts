import { hostNameProblem } from '../../kit/net/host-name.ts';
import { boolean, duration, hinted, optional, required, text } from '../../kit/settings/setting.ts';
import { emailAddress } from '../../kit/text/email-address.ts';

const identityHost = text(
  'a lowercase host name, such as id.example.com, with the public port if it is not 443: id.example.com:8443',
  (value) => {
    const [host = '', port, ...rest] = value.split(':');
    if (rest.length > 0 || host !== host.toLowerCase() || hostNameProblem(host, 'refused') !== null) return false;
    // A browser never names the default port: the origin would be another one.
    return port === undefined || (/^[1-9]\d{0,4}$/.test(port) && Number(port) <= 65_535 && port !== '443');
  },
);

const smtpUrl = text(
  'smtps://USER:PASSWORD@HOST:465, or smtp://USER:PASSWORD@HOST:587 for STARTTLS, with user and password percent-encoded',
  (value) => {
    if (!URL.canParse(value)) return false;
    const { protocol, hostname, pathname, search, hash } = new URL(value);
    const isBare = (pathname === '' || pathname === '/') && search === '' && hash === '';
    return (protocol === 'smtp:' || protocol === 'smtps:') && hostname !== '' && isBare;
  },
);

/** `postern@example.com`, or `Postern <postern@example.com>`. */
const SENDER = /^(?:(?<name>[^<>"\p{Cc}]{1,100}?) ?<(?<inside>[^<>]{3,254})>|(?<alone>[^<>]{3,254}))$/u;

const sender = text('an address, such as postern@example.com or Postern <postern@example.com>', (value) => {
  const { inside, alone } = SENDER.exec(value)?.groups ?? {};
  return emailAddress(inside ?? alone ?? '')?.isPlain === true;
});

/** Settings of the identity host, at which people log in with passkeys. */
export const identitySettings = {
  identity_host: optional(hinted('HOST[:PORT]', identityHost), {
    description:
      'Host at which people log in with passkeys, with the public port if it is not 443. The edge serves it, and the issuer for logins is https:// with this host. No edge, reserved domain or tunnel may have this host or one below it. Passkeys belong to the host: after a change, everybody needs a new invitation. Unset: Postern logs nobody in by itself.',
  }),
  smtp_url: optional(hinted('URL', smtpUrl), {
    description:
      'SMTP server that sends invitations, e-mail codes and notices to people. smtps:// uses TLS from the start. smtp:// requires STARTTLS, except for a server on this machine. Its certificate must come from an authority that Node.js trusts: its own list, and the file that NODE_EXTRA_CA_CERTS names. Unset: no mail is sent.',
    secrecy: 'secret',
  }),
  mail_from: optional(hinted('ADDRESS', sender), { description: 'Sender of mails. Required with smtp_url.' }),
  identity_email_codes: required(boolean, {
    description:
      'Let people without a role in the console log in with a code that is mailed to them. Codes can be phished, which passkeys cannot. Needs identity_host and smtp_url.',
  }),
  identity_session_hours: required(duration('hours', 1, 8760), {
    description: 'Time after which a person has to log in at the identity host again.',
  }),
  identity_invitation_hours: required(duration('hours', 1, 2160), {
    description: 'Time for which an invitation link works.',
  }),
};
