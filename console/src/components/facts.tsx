import type { ComponentChildren } from 'preact';

export function Facts({ rows }: { rows: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <>
          <dt>{name}</dt>
          <dd dir="auto">{value}</dd>
        </>
      ))}
    </dl>
  );
}
