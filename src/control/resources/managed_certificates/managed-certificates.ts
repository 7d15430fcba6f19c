import Type from 'typebox';
import type { JsonObject } from '../../../kit/json.ts';
import { refSchema } from '../../../kit/schema/annotations.ts';
import type { CertificateEventType } from '../../../proxy/acme/orders/open-order.ts';
import { MANAGED_CERTIFICATE, type ManagedCertificateDoc, managedStatus } from '../../../proxy/acme/records.ts';
import type { RecordReader } from '../../../store/replica/record-table.ts';
import type { OutboxEvent, StoredRecord } from '../../../store/store.ts';
import { notOnline } from '../errors.ts';
import { type LiveEventPorts, liveEvent, liveReads } from '../live-operations.ts';
import type { ReadingPorts, SharedPorts } from '../ports.ts';
import { type LiveResource, timestamp } from '../resource.ts';

export const renewsAtSchema = Type.Union([timestamp('When the certificate is renewed.'), Type.Null()], {
  description: 'When the certificate is renewed; null while unknown.',
});

export const provisioningJobSchema = Type.Union(
  [
    Type.Object({
      error_code: Type.Union([Type.String(), Type.Null()], {
        description: 'Code of the last failure; null if there was none.',
      }),
      msg: Type.String({ description: 'What went wrong and what to do; empty if nothing did.' }),
      started_at: timestamp('When the work on the certificate began.'),
      retries_at: Type.Union([timestamp('When the next attempt is made.'), Type.Null()], {
        description: 'When the next attempt is made; null during an attempt.',
      }),
    }),
    Type.Null(),
  ],
  { description: 'Work on a new certificate, in progress or waiting; null if there is none.' },
);

/** State of a managed certificate, as reserved domains and managed certificates show it. */
export function managementStatus({ renews_at, job }: Pick<ManagedCertificateDoc, 'renews_at' | 'job'>): JsonObject {
  return {
    renews_at,
    provisioning_job:
      job === null
        ? null
        : { error_code: job.error_code, msg: job.msg ?? '', started_at: job.started_at, retries_at: job.retries_at },
  };
}

export type ManagedCertificatePorts = ReadingPorts & Pick<SharedPorts, 'clock' | 'hostCertificates' | 'ref' | 'uri'>;

const PATH = '/managed_certificates';

const schema = Type.Object({
  id: Type.String({ description: 'Id, starting with "mc_".' }),
  uri: Type.String({ description: 'URI of the resource.' }),
  created_at: timestamp('When the name came under management.'),
  hostname: Type.String({ description: 'The host name or wildcard.', examples: ['app.example.com'] }),
  status: Type.Enum(['issued', 'pending', 'failed'], {
    description:
      '"issued" while a certificate is valid, even if its renewal fails. "pending" before the first one, "failed" after a failed attempt. Meanwhile the internal CA\'s certificate is presented.',
    examples: ['issued'],
  }),
  serial_number: Type.Union([Type.String(), Type.Null()], {
    description: 'Serial number of the current certificate in lowercase hexadecimal; null if there is none.',
    examples: ['04d2a8e1'],
  }),
  not_after: Type.Union([timestamp('When the current certificate expires.'), Type.Null()], {
    description: 'When the current certificate expires; null if there is none.',
    examples: ['2027-01-30T09:30:00.000Z'],
  }),
  renews_at: renewsAtSchema,
  provisioning_job: provisioningJobSchema,
  certificate: Type.Union([refSchema, Type.Null()], {
    description: 'The uploaded TLS certificate that is valid for the name now; null if there is none.',
  }),
});

/** Names whose certificates come from an ACME server. The server decides which names: none can be created here. */
export const managedCertificates: LiveResource<ManagedCertificatePorts> = {
  type: 'live',
  name: 'managed_certificates',
  kind: MANAGED_CERTIFICATE,
  idPrefix: 'mc',
  path: PATH,
  listKey: 'managed_certificates',
  title: 'a managed certificate',
  description:
    'A name whose certificate the server orders and renews at an ACME server: a public host of an edge, a reserved domain, or a name of the server itself.',
  operations: liveReads<StoredRecord, ManagedCertificatePorts>({
    resource: 'managed_certificates',
    idPrefix: 'mc',
    path: PATH,
    listKey: 'managed_certificates',
    title: 'a managed certificate',
    plural: 'managed certificates',
    schema,
    list: (query, _request, { documents }) => Promise.resolve(pageOfWanted(documents.reader, query)),
    get: (id, { documents }) => {
      const record = documents.reader.get(MANAGED_CERTIFICATE, id);
      return Promise.resolve(record !== undefined && isWanted(record) ? record : null);
    },
    render: (records, _request, ports) => records.map((record) => renderManagedCertificate(record, ports)),
    notFound: (id) => notOnline('managed certificate', PATH, id),
  }),
};

/** As GET shows it; events contain it too. */
export function renderManagedCertificate(
  record: Pick<StoredRecord, 'id' | 'doc'>,
  { ref, clock, hostCertificates }: Pick<SharedPorts, 'ref' | 'clock' | 'hostCertificates'>,
): JsonObject {
  const doc = record.doc as unknown as ManagedCertificateDoc;
  const uploadedId = hostCertificates.uploaded(doc.hostname);
  return {
    ...ref(record.id),
    created_at: doc.created_at,
    hostname: doc.hostname,
    status: managedStatus(doc, clock.nowMs()),
    serial_number: doc.serial_number,
    not_after: doc.not_after,
    ...managementStatus(doc),
    certificate: uploadedId === null ? null : { ...ref(uploadedId) },
  };
}

/** A name that nothing asks for is kept for some hours, in case that was a mistake. It is not under management. */
export function isWanted({ doc }: StoredRecord): boolean {
  return (doc['unwanted_since'] ?? null) === null;
}

function pageOfWanted(reader: RecordReader, query: { readonly beforeId: string | null; readonly limit: number }) {
  const found: StoredRecord[] = [];
  let { beforeId } = query;
  for (;;) {
    const page = reader.page(MANAGED_CERTIFICATE, { beforeId, limit: query.limit });
    found.push(...page.filter(isWanted));
    if (page.length < query.limit || found.length >= query.limit) return found.slice(0, query.limit);
    beforeId = page.at(-1)?.id ?? null;
  }
}

type CertificateEventPorts = LiveEventPorts & Pick<SharedPorts, 'hostCertificates'>;

/** The event that reports a change of a managed certificate, for the commit that makes it. `record`: as it will be. */
export function certificateEvent(
  type: CertificateEventType,
  record: Pick<StoredRecord, 'id' | 'doc'>,
  ports: CertificateEventPorts,
): readonly OutboxEvent[] {
  return liveEvent(type, () => renderManagedCertificate(record, ports), '', ports);
}
