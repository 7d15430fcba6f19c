import type { Document, Pages } from '../../api/use-pages.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { type Reference, RefLink } from '../../components/ref-link.tsx';
import { textAt } from '../../format/text.ts';
import { figureText } from './site-columns.tsx';
import type { SiteFigures } from './use-site-figures.ts';

interface AgentSitesProps {
  /** Tunnels that are open. */
  readonly pages: Pages;
  /** Lower case. */
  readonly filter: string;
  readonly figures: SiteFigures;
}

/** Hosts that agents publish themselves, such as containers by their labels: they are there as long as the agent is. */
export function AgentSites({ pages, filter, figures }: AgentSitesProps) {
  const published = pages.rows.filter((tunnel) => textAt(tunnel, 'public_url') !== '');
  if (published.length === 0) return null;
  const rows = published.filter((tunnel) => textAt(tunnel, 'public_url').toLowerCase().includes(filter));
  return (
    <section class="stack-small" aria-label="Published by agents">
      <h2>Published by agents</h2>
      <p class="hint">
        An agent keeps these open by itself. Its file, its flags or the labels of its containers say who may enter.
      </p>
      <DataTable
        label="Sites of agents"
        columns={columns(figures)}
        rows={rows}
        rowKey={(tunnel) => textAt(tunnel, 'id')}
        hasMore={pages.hasMore && rows.length === published.length}
        isLoading={pages.isLoading}
        loadMore={pages.loadMore}
        isStacked
      />
    </section>
  );
}

function columns(figures: SiteFigures): readonly Column<Document>[] {
  const endpointOf = (tunnel: Document): string => (tunnel['endpoint'] as Reference | undefined)?.id ?? '';
  return [
    { name: 'Host', class: 'col-quarter', cell: (tunnel) => <PublicLink url={textAt(tunnel, 'public_url')} /> },
    { name: 'Goes to', class: 'middle', cell: (tunnel) => <span dir="auto">{textAt(tunnel, 'forwards_to')}</span> },
    {
      name: 'Agent',
      class: 'middle',
      cell: (tunnel) => <RefLink reference={tunnel['tunnel_session'] as Reference | null} />,
    },
    {
      name: 'Requests',
      class: 'number col-figure',
      cell: (tunnel) => figureText(figures, endpointOf(tunnel), 'requests'),
    },
    {
      name: 'Errors',
      class: 'number col-figure low',
      cell: (tunnel) => figureText(figures, endpointOf(tunnel), 'errors'),
    },
  ];
}

/** A server may listen where no browser goes: only web addresses are links. */
function PublicLink({ url }: { url: string }) {
  const text = url.replace(/^https:\/\//, '');
  if (!/^https?:/.test(url)) return <span dir="auto">{text}</span>;
  return (
    <a dir="auto" href={url} target="_blank" rel="noreferrer" title={url}>
      {text}
    </a>
  );
}
