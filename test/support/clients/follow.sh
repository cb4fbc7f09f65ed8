#!/usr/bin/env bash
# Follows changes with curl, and prints the data of each event on a line. The parameters are environment variables: URL, TOKEN, BODY. An id
# counts only when its event is complete, that is, at the empty line: an incomplete event is sent again.
last=
while :; do
  id= data= event=message
  while IFS= read -r line; do
    case $line in
      'id: '*) id=${line#id: } ;;
      'event: '*) event=${line#event: } ;;
      'data: '*) data=${line#data: } ;;
      '')
        if [ -n "$data" ] && [ "$event" = message ]; then
          printf '%s\n' "$data"
          last=$id
        fi
        id= data= event=message
        ;;
    esac
  done < <(curl -sS -N --fail "$URL/topics/changes" -H "authorization: Apikey $TOKEN" -H 'content-type: application/json' \
    -H 'accept: text/event-stream' ${last:+-H "last-event-id: $last"} -d "$BODY")
  sleep 0.2
done
