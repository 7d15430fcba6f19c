import Type from 'typebox';
import { parseAddress } from '../../kit/net/cidr.ts';
import { splitAddress } from '../../kit/net/host-name.ts';
import { upstreamAddressProblem } from '../../kit/net/listen-address.ts';
import { bodyProblem } from '../../kit/schema/decode-body.ts';
import { type BackendSnapshot, defineBackend, type Target, type TargetPorts } from '../backend.ts';

function staticTargets<Upstream>(
  {
    config: { address, tls },
  }: BackendSnapshot<{ readonly address: string; readonly tls: { readonly enabled: boolean } }>,
  ports: TargetPorts<Upstream>,
): readonly Target<Upstream>[] {
  return [{ kind: 'upstream', upstream: ports.upstreamFor(address, tls.enabled), name: address }];
}

/** A fixed address. */
export const staticBackend = defineBackend({
  name: 'static',
  idPrefix: 'bkdsc',
  title: 'a static backend',
  readsPath: false,
  description: 'Forwards requests to one address.',
  config: () =>
    Type.Object({
      address: Type.String({
        minLength: 1,
        maxLength: 300,
        description: 'Address of the upstream: "host:port", such as "10.0.0.5:3000" or "[2001:db8::1]:443".',
      }),
      tls: Type.Object(
        {
          enabled: Type.Boolean({
            default: false,
            description: 'Connect to the upstream over TLS and verify its certificate.',
          }),
        },
        { default: {}, description: 'TLS to the upstream.' },
      ),
    }),
  example: { address: '10.0.0.5:3000', tls: { enabled: false } },
  check: (config) => {
    const problem = upstreamAddressProblem(config.address);
    return problem === null ? [] : [bodyProblem('address', problem)];
  },
  upstreamAddresses: ({ address, tls }) => [{ address, isTls: tls.enabled }],
  // Who can read the plain connection is not limited to the service: TLS only narrows it.
  sendsTo: ({ address, tls }) => [`tls://${address}`, ...(tls.enabled ? [] : [`tcp://${address}`])],
  maySendToSame: (one, other) => serviceAt(one.address) === serviceAt(other.address),
  targets: staticTargets,
});

/** Equal for addresses that are known to lead to one service. */
function serviceAt(address: string): string {
  const { host, port } = splitAddress(address.toLowerCase());
  const parsed = parseAddress(host);
  const isLocal = parsed === null ? /(?:^|\.)localhost$/.test(host) : LOCAL.has(parsed.range());
  return `${isLocal ? 'localhost' : (parsed?.toNormalizedString() ?? host)}:${port}`;
}

/** A connection to 0.0.0.0 reaches this machine. */
const LOCAL: ReadonlySet<string> = new Set(['loopback', 'unspecified']);
