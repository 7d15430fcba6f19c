import type { Document } from '../../api/use-pages.ts';
import { DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { textAt } from '../../format/text.ts';
import { href } from '../../router/location.ts';
import { documentName } from '../../schema/document-name.ts';
import { ExpiryChip } from '../certificates/certificates-page.tsx';
import { useFirstPage } from './overview-data.ts';

const SHOWN = 8;

/** Certificates that expire first. */
export function Certificates() {
  const managed = useFirstPage('/managed_certificates', 'managed_certificates', 'managed_certificates:read');
  const uploaded = useFirstPage('/tls_certificates', 'tls_certificates', 'tls_certificates:read');
  if (managed.data === null && uploaded.data === null && !managed.isLoading && !uploaded.isLoading) return null;
  const rows = [...(managed.data ?? []), ...(uploaded.data ?? [])]
    .filter(({ not_after }) => typeof not_after === 'string')
    .sort((one, other) => Date.parse(textAt(one, 'not_after')) - Date.parse(textAt(other, 'not_after')))
    .slice(0, SHOWN);
  return (
    <section class="card" aria-label="Certificates that expire first">
      <header>
        <h2>Certificates that expire first</h2>
        <a class="push" href={href('/certificates')}>
          All
        </a>
      </header>
      <DataTable<Document>
        label="Certificates by expiry"
        rows={rows}
        isLoading={managed.isLoading && rows.length === 0}
        rowKey={({ id }) => String(id)}
        columns={[
          { name: 'Name', class: 'col-wide', cell: (row) => <span dir="auto">{documentName(row)}</span> },
          { name: 'Expires', cell: ({ not_after }) => <ExpiryChip at={not_after} /> },
        ]}
        empty={
          <EmptyState title="No certificates to watch">
            <p>Certificates of the internal CA renew by themselves. Uploaded and managed certificates appear here.</p>
          </EmptyState>
        }
      />
    </section>
  );
}
