import { isHostName } from '../../../lib/net/listen-address.ts';

const BIND = 'bind:';

/** A command that publishes a service under a name that these rules allow. The rules come from a server: only names are shown. */
export function nextCommand(acl: readonly string[]): string {
  const allowed = acl.filter((rule) => rule.startsWith(BIND)).map((rule) => rule.slice(BIND.length));
  const hosts = allowed.map((subject) => subject.replace(/^\*\./, 'app.'));
  const host = hosts.find(isHostName);
  if (host !== undefined) return `postern http 3000 --domain ${host}`;
  const label = allowed.find((subject) => /^[A-Za-z0-9._/-]+=[A-Za-z0-9._/-]+$/.test(subject));
  return label === undefined ? 'postern http 3000' : `postern tunnel 3000 --label ${label}`;
}
