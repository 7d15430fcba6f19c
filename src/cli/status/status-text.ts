import { wrapText } from '../../lib/text/wrap-text.ts';
import { printable } from '../api/cell-text.ts';
import type { Painter } from '../output/color.ts';
import type { Status } from './read-status.ts';

/** Lines of one part: one screen has room for all parts. */
const MAX_LINES = 5;
const LABEL_WIDTH = 14;
const UNREADABLE = 'not readable with this API key';

/** One screen, with lines that break at words; a width of null is that of a pipe. */
export function statusText(
  status: Status,
  url: string,
  { paint, width }: { readonly paint: Painter; readonly width: number | null },
): readonly string[] {
  const lines = statusLines(status, url, paint);
  return width === null ? lines : lines.flatMap((line) => wrapped(line, width));
}

/** Later lines of a row stand below its text. */
function wrapped(line: string, width: number): readonly string[] {
  const isRow = /^.{13} \S/.test(line) && (line.startsWith(' '.repeat(LABEL_WIDTH)) || /^[A-Z][a-z ]+ {2}/.test(line));
  const [head, indent] = isRow ? [line.slice(0, LABEL_WIDTH), LABEL_WIDTH] : ['', line.startsWith('  ') ? 2 : 0];
  const text = line.slice(head.length).trimStart();
  const rest = ' '.repeat(isRow ? indent : 2);
  return wrapText(text, width - Math.max(indent, 2)).map((each, at) =>
    at === 0 ? `${head === '' ? ' '.repeat(indent) : head}${each}` : `${rest}${each}`,
  );
}

function statusLines(status: Status, url: string, paint: Painter): readonly string[] {
  const { health, nodes, edges, agents, tunnels, expiring, findings, skipped } = status;
  const versions = [...new Set((nodes ?? []).filter((node) => node.status !== 'lost').map(({ version }) => version))];
  const state = paint(printable(health.status), health.status === 'ready' ? 'green' : 'red');
  const version = versions.length === 0 ? '' : `, version ${versions.map(printable).join(' and ')}`;
  const store = health.store === null ? '' : `, store ${printable(health.store)}`;
  const routes = (edges ?? []).reduce((sum, edge) => sum + edge.routes.length, 0);
  return [
    row('Server', `${state}${version}${store}, ${printable(url)}`),
    ...part('Nodes', nodes, (node) => `${printable(node.name)} ${node.status}, ${counted(node.agents, 'agent')}`),
    row('Edges', edges === null ? UNREADABLE : `${edges.length}, with ${counted(routes, 'route')}`),
    ...(edges ?? [])
      .slice(0, MAX_LINES)
      .map(({ hostports, id }) =>
        row('', printable(hostports.length === 0 ? `${id} (no host)` : hostports.join(', '))),
      ),
    ...more(edges),
    ...part('Agents', agents, ({ ip, agent_version: version, os, metadata }) => {
      return printable([ip, `version ${version}`, os, metadata].filter((text) => text !== '').join(', '));
    }),
    row('Tunnels', tunnels === null ? UNREADABLE : String(tunnels.length)),
    ...expiringRows(expiring, paint),
    ...findingRows(findings, paint),
    ...(skipped.length === 0 ? [] : [row('Not checked', `${skipped.join(', ')}: ${UNREADABLE}`)]),
  ];
}

function expiringRows(expiring: Status['expiring'], paint: Painter): readonly string[] {
  if (expiring.length === 0) return [row('Certificates', 'none expires within 30 days')];
  const lines = expiring.slice(0, MAX_LINES).map(({ name, not_after: end, days, renewal }) => {
    const when = days < 0 ? 'expired on' : 'expires on';
    return paint(`${printable(name)} ${when} ${end.slice(0, 10)}, renewal is ${renewal}`, days < 7 ? 'red' : 'yellow');
  });
  return [...lines.map((line, index) => row(index === 0 ? 'Certificates' : '', line)), ...more(expiring)];
}

function findingRows(findings: Status['findings'], paint: Painter): readonly string[] {
  if (findings.length === 0) return [row('Problems', paint('none', 'green'))];
  return [
    '',
    ...findings
      .slice(0, 2 * MAX_LINES)
      .flatMap(({ level, message, advice }) => [
        `${paint(level, level === 'problem' ? 'red' : 'yellow')}: ${printable(message)}`,
        ...(advice === undefined ? [] : [`  ${printable(advice)}`]),
      ]),
    ...more(findings, 2 * MAX_LINES),
  ];
}

function part<T>(label: string, items: readonly T[] | null, text: (item: T) => string): readonly string[] {
  if (items === null) return [row(label, UNREADABLE)];
  if (items.length === 0) return [row(label, 'none')];
  return [...items.slice(0, MAX_LINES).map((item, at) => row(at === 0 ? label : '', text(item))), ...more(items)];
}

function more(items: readonly unknown[] | null, shown = MAX_LINES): readonly string[] {
  return items !== null && items.length > shown ? [row('', `and ${items.length - shown} more`)] : [];
}

function row(label: string, text: string): string {
  return `${label.padEnd(LABEL_WIDTH)}${text}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
