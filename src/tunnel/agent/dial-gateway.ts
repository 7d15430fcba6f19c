import { isIP, type LookupFunction } from 'node:net';
import { checkServerIdentity, type PeerCertificate, type SecureContext } from 'node:tls';
import { messageOf } from '../../kit/error-text.ts';
import { type DialHandler, dialTls } from '../../kit/net/dial-tls.ts';
import { parseListenAddress } from '../../kit/net/listen-address.ts';
import { localhostLookup } from '../../kit/net/lookups.ts';
import { upstreamSecureContext } from '../../proxy/upstream/dial.ts';
import { codeOf } from '../../proxy/upstream/upstream-failure.ts';
import { ALPN } from '../protocol/protocol.ts';
import { AgentError } from './errors.ts';
import type { AgentOptions } from './handle.ts';

export interface GatewayAddress {
  readonly serverAddr: string;
  readonly host: string;
  readonly port: number;
  readonly servername: string;
  context(): SecureContext;
  readonly lookup: LookupFunction;
}

/**
 * Dials the gateway as `dialTls` does. The name is resolved for every attempt: an agent that caches an address stays
 * offline when its server or its own network moves. No TLS session is resumed, so the certificate is verified every
 * time.
 */
export function dialGateway(address: GatewayAddress, timeoutMs: number, handler: DialHandler<DialProblem>): () => void {
  const { host, port, servername, serverAddr } = address;
  let certificate: PeerCertificate | null = null;
  return dialTls<DialProblem>(
    {
      part: 'gateway dial',
      options: {
        ...{ host, port, lookup: address.lookup, autoSelectFamily: true },
        secureContext: address.context(),
        ALPNProtocols: [ALPN],
        // An IP address is not a valid server name (RFC 6066 §3), but the certificate must still contain it.
        servername: isIP(servername) === 0 ? servername : '',
        checkServerIdentity: (_host, shown) => {
          certificate = shown;
          return checkServerIdentity(servername, shown);
        },
      },
      timeoutMs,
      check: ({ alpnProtocol }) => (alpnProtocol === ALPN ? null : notGateway(serverAddr)),
      failed: (error, socket) => {
        // `checkServerIdentity` does not run for an expired or untrusted certificate, so it has to be read here.
        const shown = certificate ?? (socket.getPeerCertificate() as PeerCertificate | null);
        return dialProblem(error, { serverAddr, servername }, shown);
      },
      closed: () => notGateway(serverAddr),
      late: () => dialTimeout(serverAddr, timeoutMs),
    },
    handler,
  );
}

/** Why the server could not be reached, with a message that says what to do. */
export interface DialProblem {
  readonly code: string;
  readonly message: string;
  /** The server was reached but cannot be trusted. Retrying does not help. */
  readonly isCertificate: boolean;
}

const UNKNOWN_AUTHORITY: ReadonlySet<string> = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_UNTRUSTED',
  'INVALID_CA',
]);
const NOT_TLS: ReadonlySet<string> = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_HTTP_REQUEST',
  'ERR_SSL_UNEXPECTED_MESSAGE',
]);

interface DialledName {
  readonly serverAddr: string;
  readonly servername: string;
}

export function dialProblem(error: unknown, dialled: DialledName, certificate: PeerCertificate | null): DialProblem {
  const { serverAddr, servername } = dialled;
  const code = codeOf(error);
  const distrust = (reason: string): DialProblem => ({
    code: 'ERR_POSTERN_AGENT_CERTIFICATE',
    message: `the certificate of ${serverAddr} ${reason}`,
    isCertificate: true,
  });
  const unreachable = (reason: string): DialProblem => ({
    code: 'ERR_POSTERN_AGENT_UNREACHABLE',
    message: reason,
    isCertificate: false,
  });
  if (code === 'CERT_HAS_EXPIRED') {
    return distrust(
      `expired on ${certificate?.valid_to}: renew it on the server, or correct the clock of this machine`,
    );
  }
  if (code === 'CERT_NOT_YET_VALID') {
    return distrust(`is valid only from ${certificate?.valid_from} on: correct the clock of this machine`);
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = certificate?.subjectaltname ?? 'no name';
    return distrust(`is not for "${servername}" but for ${names}: use a name that the certificate includes`);
  }
  if (UNKNOWN_AUTHORITY.has(code)) {
    return distrust(
      `is signed by an authority that is not trusted (${code}): run "postern ca print > postern-cas.pem" on the server, copy the file here, and pass it to the agent with --root-ca postern-cas.pem ("ca" in a program)`,
    );
  }
  if (/^(?:CERT_|CRL_|HOSTNAME_)/.test(code)) return distrust(`is not valid: ${messageOf(error)} (${code})`);
  switch (code) {
    case 'ECONNREFUSED':
      return unreachable(`nothing listens at ${serverAddr}: check the address and that the server is running`);
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'ENODATA':
      return unreachable(`the name in ${serverAddr} cannot be resolved (${code}): check the address, and the network`);
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'ENETDOWN':
      return unreachable(`no route to ${serverAddr} (${code}): check the network`);
    case 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL':
      return notGateway(serverAddr);
    case 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME':
      return notGateway(serverAddr);
    default:
      return NOT_TLS.has(code)
        ? unreachable(`${serverAddr} does not use TLS: use the address of tunnel_listen`)
        : unreachable(`${serverAddr} cannot be reached: ${messageOf(error)}`);
  }
}

function notGateway(serverAddr: string): DialProblem {
  return {
    code: 'ERR_POSTERN_AGENT_UNREACHABLE',
    message: `${serverAddr} is not a tunnel gateway: use the address of tunnel_listen`,
    isCertificate: false,
  };
}

export function dialTimeout(serverAddr: string, timeoutMs: number): DialProblem {
  return {
    code: 'ERR_POSTERN_AGENT_UNREACHABLE',
    message: `${serverAddr} did not respond within ${timeoutMs / 1000} s: check the address, the network and firewalls`,
    isCertificate: false,
  };
}

type AddressOptions = Pick<AgentOptions, 'serverAddr' | 'servername' | 'ca' | 'lookup'>;

/** Throws `AgentError` when the address is not valid. */
export function gatewayAddress({ serverAddr, servername, ca, lookup }: AddressOptions): GatewayAddress {
  const address = parseListenAddress(serverAddr);
  if (address === null || address.port === 0) {
    const message = `the server's address "${serverAddr}" is not host:port, as in tunnel.example.com:4443`;
    throw new AgentError('ERR_POSTERN_AGENT_OPTIONS', message);
  }
  return {
    ...address,
    serverAddr,
    servername: servername ?? address.host,
    context: upstreamSecureContext(ca),
    lookup: lookup ?? localhostLookup,
  };
}
