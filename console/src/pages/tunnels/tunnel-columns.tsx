import type { Document } from '../../api/use-pages.ts';
import { Chip } from '../../components/chip.tsx';
import type { Column } from '../../components/data-table.tsx';
import { RefLink } from '../../components/ref-link.tsx';
import { Time } from '../../components/time.tsx';
import { ValueView } from '../../components/value-view.tsx';
import { byteText, rateText } from '../../format/amounts.ts';
import { textAt } from '../../format/text.ts';
import type { Reference } from '../../schema/load-by-ids.ts';
import { Latency } from './latency.tsx';
import type { LiveTraffic, TunnelTraffic } from './tunnel-traffic.ts';

export function tunnelColumns(traffic: LiveTraffic): readonly Column<Document>[] {
  const figure = (name: string, style: string, text: (of: TunnelTraffic) => string): Column<Document> => ({
    name,
    class: style,
    cell: (row) => <Figure row={row} traffic={traffic} text={text} />,
  });
  return [
    { name: 'Public URL or labels', class: 'col-quarter', cell: (row) => <TunnelName row={row} /> },
    {
      name: 'Forwards to',
      class: 'middle',
      cell: (row) => <span class="mono">{textAt(row, 'forwards_to')}</span>,
    },
    {
      name: 'Protocol',
      class: 'lowest col-narrow',
      cell: (row) => (row['proto'] ? <Chip>{textAt(row, 'proto')}</Chip> : ''),
    },
    {
      name: 'Requests/s',
      class: 'number col-figure',
      cell: (row) => <RequestRate id={textAt(row, 'id')} traffic={traffic} />,
    },
    figure('Requests', 'low number col-figure', ({ requests }) => requests.toLocaleString('en')),
    figure('In progress', 'lowest number col-figure', ({ in_progress: open }) => open.toLocaleString('en')),
    figure('Bytes', 'middle number col-figure', ({ bytes }) => byteText(bytes)),
    {
      name: 'Latency',
      class: 'number col-latency',
      cell: (row) => <Latency agent={traffic.agent(String(agentOf(row)?.id))} />,
    },
    { name: 'Agent', class: 'lowest', cell: (row) => <RefLink reference={agentOf(row)} /> },
    { name: 'Since', class: 'middle col-time', cell: (row) => <Time at={row['started_at']} /> },
  ];
}

function agentOf(row: Document): Reference | null {
  return row['tunnel_session'] as Reference | null;
}

function TunnelName({ row }: { row: Document }) {
  const url = row['public_url'];
  return typeof url === 'string' && url !== '' ? <span dir="auto">{url}</span> : <ValueView value={row['labels']} />;
}

function RequestRate({ id, traffic }: { id: string; traffic: LiveTraffic }) {
  const rates = traffic.tunnelRates(id);
  if (rates === null) return <span class="muted">–</span>;
  return <span title={`${byteText(rates.bytes)} per second, over ten seconds`}>{rateText(rates.requests)}</span>;
}

/** Connections of tcp and tls tunnels are counted as requests are. */
function Figure({ row, traffic, text }: { row: Document; traffic: LiveTraffic; text: (of: TunnelTraffic) => string }) {
  const tunnel = traffic.tunnel(textAt(row, 'id'));
  return tunnel === undefined ? <span class="muted">–</span> : <span>{text(tunnel)}</span>;
}
