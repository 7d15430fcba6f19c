import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** Heading of the next step of a form: the button that led there is gone, so the focus comes here. */
export function StepHeading({ children }: { children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    scrollTo(0, 0);
    heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <h2 ref={heading} tabIndex={-1}>
      {children}
    </h2>
  );
}
