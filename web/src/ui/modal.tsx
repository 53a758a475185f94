/** A dialog over the page; the browser keeps the focus inside and gives it back. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../text/text";
import { Icon } from "./icons";

export function Modal({ title, close, children, kind = "" }: { title: string; close: () => void; children: ComponentChildren; kind?: string }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    element.current?.showModal();
    // A dialog that is taken away takes the focus with it; it goes back to where it was, unless somebody has it already.
    return () =>
      void setTimeout(() => {
        if (document.activeElement === document.body && opener instanceof HTMLElement && opener.isConnected) opener.focus();
      });
  }, []);
  const dismiss = () => element.current?.close();
  return (
    <dialog ref={element} class={kind} onClose={close} onClick={(event) => event.target === element.current && dismiss()} aria-label={title}>
      <header>
        <h2>{title}</h2>
        <button class="plain" onClick={dismiss} aria-label={t("Close")}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </dialog>
  );
}
