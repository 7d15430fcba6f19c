import { shellWord } from '../../lib/text/shell-word.ts';
import { printable } from '../api/cell-text.ts';
import { isOwnLogin, issuerOf } from './edge-login.ts';
import type { EdgePlan } from './plan-edge.ts';
import type { WantedEdge } from './wanted-edge.ts';

export function edgeUrl({ host, port, listenerPort, path }: WantedEdge, { edge }: Pick<EdgePlan, 'edge'>): string {
  const hostport =
    edge?.hostports.find((each) => each.replace(/:\d+$/, '') === host) ?? `${host}:${port ?? listenerPort}`;
  // Any name that the wildcard matches.
  return `https://${hostport.replace(/:443$/, '').replace(/^\*/, 'anything')}${path}`;
}

/** What to do now. */
export function nextSteps(wanted: WantedEdge, plan: Pick<EdgePlan, 'edge' | 'route'>): readonly string[] {
  const url = edgeUrl(wanted, plan);
  const isOwn = isOwnLogin(wanted.login, plan.route);
  const hasLogin = !isOwn && (wanted.login !== null || issuerOf(plan.route) !== null);
  const { origin } = new URL(url);
  return [
    '',
    `Address:      ${printable(url)}`,
    ...(hasLogin ? [`Redirect URI: ${origin}/.postern/callback (register it at the login provider)`] : []),
    `Try it:       curl -i ${shellWord(url)}`,
    'If curl does not trust the certificate: postern ca print > ca.pem, and add --cacert ca.pem',
  ];
}
