import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { href } from '../router/location.ts';

interface PageHeadProps {
  readonly title: string;
  readonly hint?: ComponentChildren;
  readonly crumbs?: readonly (readonly [name: string, below: string])[];
  readonly children?: ComponentChildren;
}

export function PageHead({ title, hint, crumbs = [], children }: PageHeadProps) {
  useEffect(() => {
    document.title = `${title.slice(0, 80)} · Postern`;
  }, [title]);
  return (
    <div class="page-head">
      <div>
        {crumbs.length > 0 && (
          <nav aria-label="Breadcrumb">
            <ol class="crumbs">
              {crumbs.map(([name, below]) => (
                <li key={below}>
                  <a href={href(below)}>{name}</a>
                </li>
              ))}
            </ol>
          </nav>
        )}
        <h1 tabIndex={-1} dir="auto">
          {title}
        </h1>
        {hint !== undefined && <p class="muted wrap-anywhere">{hint}</p>}
      </div>
      {children !== undefined && <div class="actions">{children}</div>}
    </div>
  );
}
