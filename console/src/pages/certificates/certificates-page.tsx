import type { Document } from '../../api/use-pages.ts';
import { Chip } from '../../components/chip.tsx';
import type { Column } from '../../components/data-table.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { nameColumn } from '../../components/resource-list.tsx';
import { TabbedLists } from '../../components/tabbed-lists.tsx';
import { Time } from '../../components/time.tsx';
import { textAt } from '../../format/text.ts';
import { daysUntil } from '../../format/times.ts';

const SOON_DAYS = 21;

export function CertificatesPage() {
  return (
    <>
      <PageHead
        title="Certificates"
        hint="What the edge presents to clients, where it comes from, and when it expires."
      />
      <InternalCa />
      <TabbedLists
        label="Kinds of certificates"
        tabs={[
          {
            tag: 'managed_certificates',
            name: 'Managed',
            purpose:
              'The server orders certificates for public hosts of its edges at an ACME server. Create an edge with a public host, and allow ACME in the settings.',
            columns: (type) => [nameColumn(type), STATUS, EXPIRES, RENEWS, PROBLEM],
          },
          {
            tag: 'tls_certificates',
            name: 'Uploaded',
            purpose: 'Upload a certificate with its private key if you have one from elsewhere.',
            columns: (type) => [nameColumn(type), NAMES, EXPIRES, ISSUER],
          },
          {
            tag: 'certificate_authorities',
            name: 'Client authorities',
            columns: (type) => [nameColumn(type), EXPIRES, REVOCATION],
          },
          { tag: 'reserved_domains', name: 'Reserved domains' },
        ]}
      />
    </>
  );
}

/** Sites without another certificate present one of this authority. */
function InternalCa() {
  return (
    <details class="card">
      <summary>Certificates of the internal CA, which browsers do not trust</summary>
      <div class="body stack-small">
        <p>
          A site for which no certificate is listed here presents one of the internal CA of this server. It renews by
          itself.
        </p>
        <p>
          To trust the CA on your own devices, run <code>postern ca</code> on the machine of the server: it prints the
          steps for each system and browser.
        </p>
        <p>
          For a certificate that every browser trusts, give the site a public host and set <code>acme: on</code> in the
          settings, or upload a certificate below.
        </p>
      </div>
    </details>
  );
}

export function ExpiryChip({ at }: { at: unknown }) {
  if (typeof at !== 'string') return <span class="muted">–</span>;
  const days = daysUntil(at);
  return (
    <Chip tone={days < 0 ? 'danger' : days < SOON_DAYS ? 'warn' : 'ok'}>
      {days < 0 ? 'expired ' : ''}
      <Time at={at} />
    </Chip>
  );
}

const STATUS: Column<Document> = {
  name: 'Status',
  class: 'col-narrow',
  cell: (row) => {
    const status = textAt(row, 'status');
    return <Chip tone={status === 'issued' ? 'ok' : status === 'failed' ? 'danger' : 'warn'}>{status}</Chip>;
  },
};
const EXPIRES: Column<Document> = {
  name: 'Expires',
  class: 'col-time',
  cell: (row) => <ExpiryChip at={row['not_after']} />,
};
const RENEWS: Column<Document> = {
  name: 'Renews',
  class: 'middle col-time',
  cell: (row) => <Time at={row['renews_at']} />,
};
const PROBLEM: Column<Document> = {
  name: 'Problem',
  class: 'low',
  cell: (row) => textAt(row['provisioning_job'] as Document | null, 'msg'),
};
const NAMES: Column<Document> = {
  name: 'Valid for',
  class: 'middle',
  cell: (row) => {
    const names = row['subject_alternative_names'] as Record<string, unknown> | undefined;
    return (
      <span dir="auto">
        {Object.values(names ?? {})
          .flat()
          .map(String)
          .join(', ')}
      </span>
    );
  },
};
const ISSUER: Column<Document> = {
  name: 'Issuer',
  class: 'low',
  cell: (row) => <span dir="auto">{textAt(row, 'issuer_common_name')}</span>,
};
const REVOCATION: Column<Document> = {
  name: 'Revocation list',
  class: 'middle',
  cell: (row) => (
    <Chip tone={row['crl_status'] === 'stale' || row['crl_status'] === 'missing' ? 'warn' : 'plain'}>
      {textAt(row, 'crl_status')}
    </Chip>
  ),
};
