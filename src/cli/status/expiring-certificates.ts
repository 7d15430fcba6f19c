import type { ManagedCertificate } from '../../client/generated/managed-certificates.ts';
import type { TlsCertificate } from '../../client/generated/tls-certificates.ts';

const DAY_MS = 86_400_000;
const SOON_DAYS = 30;

export interface ExpiringCertificate {
  readonly name: string;
  readonly not_after: string;
  /** Negative when it has expired. */
  readonly days: number;
  readonly renewal: 'automatic' | 'manual';
}

export interface Certificates {
  readonly managed: readonly ManagedCertificate[];
  readonly uploaded: readonly TlsCertificate[];
  readonly nowMs: number;
}

/** Certificates that end within 30 days, the first first. */
export function expiringCertificates({ managed, uploaded, nowMs }: Certificates): readonly ExpiringCertificate[] {
  const rows = [
    ...managed.map(({ hostname, not_after: end }) => ({ name: hostname, end, renewal: 'automatic' as const })),
    ...uploaded.map(({ id, subject_alternative_names: names, subject_common_name: common, not_after: end }) => ({
      name: names.dns_names[0] ?? (common === '' ? id : common),
      end,
      renewal: 'manual' as const,
    })),
  ];
  return rows
    .flatMap(({ name, end, renewal }) => {
      if (end === null) return [];
      return [{ name, not_after: end, days: Math.floor((Date.parse(end) - nowMs) / DAY_MS), renewal }];
    })
    .filter(({ days }) => days < SOON_DAYS)
    .sort((a, b) => a.days - b.days);
}
