import Type from 'typebox';
import type { ManagedCertificateDoc } from '../../acme/records.ts';
import type { JsonObject } from '../../lib/json.ts';
import { timestamp } from '../resource.ts';

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
