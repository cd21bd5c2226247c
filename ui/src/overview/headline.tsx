/** The most important numbers, large, with facts in small print. */
import type { ComponentChildren } from "preact";

export function Headline({ children }: { children: ComponentChildren }) {
  return <div class="headline">{children}</div>;
}

export function Big(props: { what: string; children: ComponentChildren; detail?: ComponentChildren; href?: string }) {
  const inner = (
    <>
      <span class="what">{props.what}</span>
      <span class="value">{props.children}</span>
      <span class="detail">{props.detail}</span>
    </>
  );
  return props.href ? <a class="big" href={props.href}>{inner}</a> : <div class="big">{inner}</div>;
}

export function Facts({ facts }: { facts: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
