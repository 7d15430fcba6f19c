import { useEffect } from 'preact/hooks';
import { session } from '../api/session-token.ts';
import { Toasts } from '../components/toast.tsx';
import { SignInPage } from '../pages/sign-in/sign-in-page.tsx';
import { loadApiDocument } from '../schema/openapi-document.ts';
import { Frame } from './frame.tsx';

export function App() {
  const isSignedIn = session.value !== null && session.value !== undefined;
  useEffect(() => {
    if (isSignedIn) void loadApiDocument();
  }, [isSignedIn]);
  if (session.value === undefined) return null;
  return (
    <>
      {isSignedIn ? <Frame /> : <SignInPage />}
      <Toasts />
    </>
  );
}
