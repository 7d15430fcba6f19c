import { usage } from '../../lib/flags.ts';
import type { TextSource } from '../api/text-source.ts';
import type { TunnelCommandName } from './agent-flags.ts';
import type { OidcConfig, TunnelConfig } from './config/agent-config.ts';
import { metadataProblem, nameProblem } from './config/text-problems.ts';
import {
  cidrProblem,
  domainProblem,
  hostHeaderProblem,
  labelProblem,
  splitLabel,
  type TunnelKey,
  tunnelProblems,
} from './config/tunnel-rules.ts';
import type { FlagValues } from './flag-values.ts';

const OIDC_FLAGS = ['oidc-client-id', 'oidc-client-secret', 'oidc-scope'];
const SPELLING: Partial<Record<TunnelKey, string>> = {
  mutual_tls_cas: '--mutual-tls-ca',
  labels: '--label',
  oidc: '--oidc-issuer',
};

/** The tunnel of `postern http 3000 …`, by the same rules as one in the file. */
export async function tunnelFromFlags(
  command: TunnelCommandName,
  positionals: readonly string[],
  flags: FlagValues,
  source: TextSource,
): Promise<TunnelConfig> {
  const [addr, ...others] = positionals;
  if (addr === undefined) throw usage(`postern ${command} requires the address of a service: postern ${command} 3000`);
  if (others.length > 0) throw usage(`postern ${command} takes one address; use "postern start" for several tunnels`);
  const scheme = flags.oneOf('scheme', ['https', 'http']);
  const allowCidrs = flags.list('allow-cidr', cidrProblem);
  const denyCidrs = flags.list('deny-cidr', cidrProblem);
  const upstreamCas = flags.repeated('upstream-ca');
  const insecureSkipVerify = flags.switch('upstream-insecure') ?? false;
  const tunnel: TunnelConfig = {
    name: flags.text('name', nameProblem) ?? command,
    addr,
    proto: command === 'tunnel' ? null : command,
    labels: command === 'tunnel' ? labelsOf(flags) : null,
    schemes: scheme === null ? null : [scheme],
    domain: flags.text('domain', domainProblem),
    remotePort: flags.integer('port', 1, 65_535),
    metadata: flags.text('metadata', metadataProblem),
    hostHeader: flags.text('host-header', hostHeaderProblem),
    inspect: true,
    oidc: await oidcOf(flags, source),
    ipRestriction: allowCidrs.length + denyCidrs.length === 0 ? null : { allowCidrs, denyCidrs },
    mutualTlsCas: flags.repeated('mutual-tls-ca'),
    compression: flags.switch('compression') ?? false,
    upstreamTls:
      upstreamCas.length === 0 && !insecureSkipVerify
        ? null
        : { rootCas: upstreamCas, serverName: null, insecureSkipVerify },
  };
  const [problem] = tunnelProblems(tunnel, (key) => SPELLING[key] ?? `--${key.replaceAll('_', '-')}`);
  if (problem !== undefined) throw usage(problem.message);
  return tunnel;
}

function labelsOf(flags: FlagValues): Readonly<Record<string, string>> {
  const pairs = flags.list('label', labelProblem).map(splitLabel);
  if (pairs.length === 0) throw usage('postern tunnel requires a label: --label app=web');
  if (new Set(pairs.map(([name]) => name)).size < pairs.length) throw usage('--label has two values for one name');
  return Object.fromEntries(pairs);
}

async function oidcOf(flags: FlagValues, source: TextSource): Promise<OidcConfig | null> {
  const issuer = flags.text('oidc-issuer');
  const clientId = flags.text('oidc-client-id');
  if (issuer === null) {
    const stray = OIDC_FLAGS.find((name) => flags.has(name));
    // Otherwise a tunnel that its owner believes to be protected would be open to everybody.
    if (stray !== undefined) throw usage(`--${stray} requires --oidc-issuer`);
    return null;
  }
  if (clientId === null) throw usage('--oidc-issuer requires --oidc-client-id');
  const clientSecret = await flags.secret('oidc-client-secret', source);
  const scopes = flags.list('oidc-scope');
  return {
    issuer,
    client_id: clientId,
    ...(clientSecret !== null && { client_secret: clientSecret }),
    ...(scopes.length > 0 && { scopes }),
  };
}
