import type { ComponentChildren } from 'preact';

export type Tone = 'plain' | 'ok' | 'warn' | 'danger' | 'accent';

export function Chip({
  tone = 'plain',
  title,
  children,
}: {
  tone?: Tone;
  title?: string;
  children: ComponentChildren;
}) {
  return (
    <span class={`chip ${tone}`} title={title}>
      {children}
    </span>
  );
}

export function StatusChip({ status }: { status: number | null | undefined }) {
  if (!status) return <Chip>none</Chip>;
  const tone: Tone = status >= 500 ? 'danger' : status >= 400 ? 'warn' : status >= 300 ? 'accent' : 'ok';
  return <Chip tone={tone}>{status}</Chip>;
}
